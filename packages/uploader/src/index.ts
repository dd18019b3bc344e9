import { AssayUploader } from './uploader.js'

export type { LinkRules } from './link-rules.js'
export type { Texts } from './texts.js'
export { AssayUploader }

// A page can load the script twice, but a custom element can be defined only once.
if (!customElements.get('assay-uploader')) customElements.define('assay-uploader', AssayUploader)
