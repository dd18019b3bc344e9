import { AssayUploader } from './uploader.js'

export type { LinkRules } from './link-rules.js'
export type { Texts } from './texts.js'
export { AssayUploader }

// The page may load the script twice.
if (!customElements.get('assay-uploader')) customElements.define('assay-uploader', AssayUploader)
