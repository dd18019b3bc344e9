import * as client from '@assay/client'

globalThis.assay = client
