import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { checkDeadline, type ReaderLimits } from '../format.js'
import type { RandomAccessSource } from '../random-access-source.js'

// TypeScript declares WebAssembly only in its browser library (lib.dom).
interface WasmTable {
  set(index: number, value: unknown): void
}
interface WasmInstance {
  exports: Record<string, unknown>
}
type WasmModule = object
interface Wasm {
  compile(bytes: Uint8Array): Promise<WasmModule>
  instantiate(module: WasmModule, imports: object): Promise<WasmInstance>
}
const wasm = (globalThis as unknown as { WebAssembly: Wasm }).WebAssembly

interface Pdfium {
  _FPDF_InitLibraryWithConfig(config: number): void
  _FPDF_LoadCustomDocument(access: number, password: number): number
  _FPDF_GetLastError(): number
  _FPDF_DocumentHasValidCrossReferenceTable(document: number): number
  _FPDF_GetPageCount(document: number): number
  _FPDF_LoadPage(document: number, index: number): number
  _FPDF_ClosePage(page: number): void
  _FPDF_GetPageWidthF(page: number): number
  _FPDF_GetPageHeightF(page: number): number
  _FPDF_RenderPageBitmap(bitmap: number, page: number, ...area: number[]): void
  _FPDFBitmap_Create(width: number, height: number, alpha: number): number
  _FPDFBitmap_FillRect(bitmap: number, ...areaAndColor: number[]): void
  _FPDFBitmap_GetBuffer(bitmap: number): number
  _FPDFBitmap_Destroy(bitmap: number): void
  _FPDF_CloseDocument(document: number): void
  wasmExports: { malloc(size: number): number; free(pointer: number): void; __indirect_function_table: WasmTable }
  HEAPU8: Uint8Array
}

type Imports = Record<string, Record<string, (...values: number[]) => number>>
type PdfiumLoader = (options: Record<string, unknown>) => Promise<Pdfium>

/** Memory limit of PDFium in bytes, above which PDFium reports an error. */
const heapLimit = 512 * 1024 * 1024

// A WebAssembly table accepts only WebAssembly functions, so this module re-exports an imported JavaScript function: (module
// (type (func (param i32 i32 i32 i32) (result i32))) (import "e" "f" (func (type 0))) (export "f" (func 0)))
const bridge = Buffer.from('0061736d0100000001090160047f7f7f7f017f02070101650166000007050101660000', 'hex')

const passwordErrors = [4, 5]

// `FPDF_ANNOT` draws annotations. `FPDF_REVERSE_BYTE_ORDER` returns RGBA instead of BGRA.
const renderFlags = 0x01 | 0x10
const opaqueWhite = 0xffffffff

/** A rendered page with 4 bytes per pixel (RGBA). */
export interface PagePixels {
  pixels: Buffer
  width: number
  height: number
}

export interface OpenedDocument {
  document: number
  password: boolean
}

/** A PDFium instance. After a WebAssembly trap, `isAlive` is false and the instance must be replaced. */
export class PdfEngine {
  private static module: Promise<WasmModule> | undefined
  private source: RandomAccessSource | undefined
  private limits: ReaderLimits | undefined
  private access = 0
  isAlive = true

  private constructor(
    private readonly pdfium: Pdfium,
    private readonly memory: { refused: boolean },
  ) {}

  static async start(): Promise<PdfEngine> {
    PdfEngine.module ??= compilePdfium()
    const module = await PdfEngine.module
    const { PDFiumModule } = (await import('@hyzyla/pdfium')) as unknown as { PDFiumModule: PdfiumLoader }
    const memory = { refused: false }
    const pdfium = await PDFiumModule({
      print: () => {},
      printErr: () => {},
      instantiateWasm: (imports: Imports, done: (instance: WasmInstance) => void) => {
        limitHeap(
          imports,
          () => pdfium?.HEAPU8.length ?? 0,
          () => (memory.refused = true),
        )
        wasm.instantiate(module, imports).then(done)
        return {}
      },
    })
    pdfium._FPDF_InitLibraryWithConfig(0)
    const engine = new PdfEngine(pdfium, memory)
    await engine.connectReadFunction()
    return engine
  }

  open(source: RandomAccessSource, limits: ReaderLimits): OpenedDocument {
    this.source = source
    this.limits = limits
    const document = this.runGuardedCall(() => this.pdfium._FPDF_LoadCustomDocument(this.writeFileAccessStruct(source.size), 0))
    return { document, password: document === 0 && passwordErrors.includes(this.pdfium._FPDF_GetLastError()) }
  }

  wasRebuilt = (document: number) =>
    this.runGuardedCall(() => this.pdfium._FPDF_DocumentHasValidCrossReferenceTable(document) === 0)

  getPageCount = (document: number) => this.runGuardedCall(() => this.pdfium._FPDF_GetPageCount(document))

  canLoadPage(document: number, index: number): boolean {
    return this.runGuardedCall(() => {
      const page = this.pdfium._FPDF_LoadPage(document, index)
      if (page) this.pdfium._FPDF_ClosePage(page)
      return page !== 0
    })
  }

  /** Renders a page on a white background to fit a square of `size` pixels. Returns undefined if this fails. */
  renderPage(document: number, index: number, size: number): PagePixels | undefined {
    return this.runGuardedCall(() => {
      const page = this.pdfium._FPDF_LoadPage(document, index)
      if (!page) return undefined
      const [pageWidth, pageHeight] = [this.pdfium._FPDF_GetPageWidthF(page), this.pdfium._FPDF_GetPageHeightF(page)]
      const scale = size / Math.max(pageWidth, pageHeight)
      const toPixels = (length: number) => Math.min(size, Math.max(1, Math.round(length * scale)))
      const [width, height] = [toPixels(pageWidth), toPixels(pageHeight)]
      const bitmap = Number.isFinite(scale) && scale > 0 ? this.pdfium._FPDFBitmap_Create(width, height, 0) : 0
      if (!bitmap) return undefined
      this.pdfium._FPDFBitmap_FillRect(bitmap, 0, 0, width, height, opaqueWhite)
      this.pdfium._FPDF_RenderPageBitmap(bitmap, page, 0, 0, width, height, 0, renderFlags)
      const start = this.pdfium._FPDFBitmap_GetBuffer(bitmap) >>> 0
      const pixels = Buffer.from(this.pdfium.HEAPU8.subarray(start, start + width * height * 4))
      this.pdfium._FPDFBitmap_Destroy(bitmap)
      this.pdfium._FPDF_ClosePage(page)
      return { pixels, width, height }
    })
  }

  close(document: number): void {
    if (document && this.isAlive) this.runGuardedCall(() => this.pdfium._FPDF_CloseDocument(document))
    this.source = undefined
  }

  get isOutOfMemory(): boolean {
    return this.memory.refused
  }

  /** True if the engine uses so much memory that it should be replaced, because WebAssembly never releases memory. */
  get hasGrown(): boolean {
    return this.pdfium.HEAPU8.length > 128 * 1024 * 1024
  }

  private runGuardedCall<T>(call: () => T): T {
    try {
      return call()
    } catch (error) {
      this.isAlive = false
      throw error
    }
  }

  /**
   * Writes an `FPDF_FILEACCESS` structure (length, read function, parameter) and returns its address. The read function is in
   * table slot 0, which C functions never use.
   */
  private writeFileAccessStruct(size: number): number {
    const heap = new DataView(this.pdfium.HEAPU8.buffer)
    heap.setUint32(this.access, size, true)
    heap.setUint32(this.access + 4, 0, true)
    heap.setUint32(this.access + 8, 0, true)
    return this.access
  }

  private async connectReadFunction(): Promise<void> {
    const { wasmExports } = this.pdfium
    this.access = wasmExports.malloc(12)
    const instance = await wasm.instantiate(await wasm.compile(bridge), { e: { f: this.readBlock } })
    wasmExports.__indirect_function_table.set(0, instance.exports.f)
  }

  private readBlock = (_parameter: number, position: number, target: number, length: number): number => {
    const { source, limits } = this
    if (!source || !limits) return 0
    checkDeadline(limits)
    const start = position >>> 0
    const size = length >>> 0
    if (start + size > source.size) return 0
    if (size <= 32 * 1024) {
      this.pdfium.HEAPU8.set(source.read(start, size), target >>> 0)
      return 1
    }
    let at = target >>> 0
    for (const chunk of source.chunks(start, start + size, Math.min(size, 1024 * 1024))) {
      this.pdfium.HEAPU8.set(chunk, at)
      at += chunk.length
    }
    return at - (target >>> 0) === size ? 1 : 0
  }
}

function compilePdfium(): Promise<WasmModule> {
  const path = createRequire(import.meta.url).resolve('@hyzyla/pdfium/pdfium.wasm')
  return readFile(path).then((bytes) => wasm.compile(bytes))
}

function limitHeap(imports: Imports, getHeapSize: () => number, onRejected: () => void): void {
  for (const group of Object.values(imports)) {
    const resize = group.emscripten_resize_heap
    if (!resize) continue
    group.emscripten_resize_heap = (size) => {
      if (size >>> 0 <= Math.max(heapLimit, getHeapSize())) return resize(size)
      onRejected()
      return 0
    }
  }
}
