import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import SevenZip, { type SevenZipModule, type SevenZipModuleFactory } from '7z-wasm'

// TypeScript declares WebAssembly only in its browser library (lib.dom).
declare namespace WebAssembly {
  type Module = object
  type Imports = object
  type Instance = object
  function compile(bytes: Uint8Array): Promise<Module>
  function instantiate(module: Module, imports: Imports): Promise<Instance>
}

let compiled: Promise<WebAssembly.Module> | undefined

/** Starts a 7-Zip instance with its own file system for one command. The WebAssembly code is compiled only once. */
export async function openSevenZip(): Promise<SevenZipModule> {
  compiled ??= WebAssembly.compile(readFileSync(createRequire(import.meta.url).resolve('7z-wasm/7zz.wasm')))
  const module = await compiled
  return (SevenZip as unknown as SevenZipModuleFactory)({
    print: () => {},
    printErr: () => {},
    instantiateWasm: (
      imports: WebAssembly.Imports,
      done: (instance: WebAssembly.Instance, module: WebAssembly.Module) => void,
    ) => {
      void WebAssembly.instantiate(module, imports).then((instance) => done(instance, module))
      return {}
    },
  } as Parameters<SevenZipModuleFactory>[0])
}
