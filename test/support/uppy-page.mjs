// Page script that uses Uppy as documented and returns what an application receives.
import Uppy from '@uppy/core'
import Tus from '@uppy/tus'

window.send = ({ endpoint, credential, name, text, times, context }) =>
  new Promise((resolve) => {
    const observed = {}
    const uppy = new Uppy({ autoProceed: true }).use(Tus, {
      endpoint,
      headers: { Authorization: `Bearer ${credential}` },
      allowedMetaFields: ['name', 'context'],
      retryDelays: [0, 100, 200, 400, 800],
      onAfterResponse: (_request, response) => {
        observed.fileId = response.getHeader('Assay-File-Id') ?? observed.fileId
        observed.offset = response.getHeader('Upload-Offset') ?? observed.offset
      },
      onShouldRetry: (error, _attempt, _options, next) => error.originalResponse?.getStatus() !== 422 && next(error),
    })
    uppy.setMeta({ context })
    uppy.on('upload-success', () => resolve({ ...observed, outcome: 'success' }))
    uppy.on('upload-error', (_file, error) =>
      resolve({
        outcome: 'error',
        status: error.originalResponse?.getStatus(),
        body: error.originalResponse?.getBody(),
        text: String(error),
      }),
    )
    uppy.addFile({ name, type: 'application/octet-stream', data: new Blob([text.repeat(times)]) })
  })
