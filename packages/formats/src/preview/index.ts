export { type Preview, type PreviewRequest, renderPreview } from './render.js'
