import { useSignal } from '@preact/signals'
import type { ApiError } from '../api/api-error.js'
import { mutate, reloadData } from '../api/client.js'
import { formatBytes } from '../api/format.js'
import { graphql } from '../api/graphql.js'
import { Button } from '../components/button.js'
import { ConfirmDialog } from '../components/confirm-dialog.js'
import { ErrorNotice } from '../components/notices.js'
import { navigate } from '../router.js'
import { hasScope } from '../session.js'
import { texts } from '../texts.js'
import { FileHold } from './file-hold.js'
import type { FileDetails } from './file-query.js'

const t = texts.file

const urlDocument = graphql(`mutation DownloadUrl($id: ID!) { createDownloadUrl(fileId: $id) { downloadUrl expiresInSeconds } }`)
const deleteDocument = graphql(`mutation DeleteFile($id: ID!) { deleteFile(fileId: $id) { fileId } }`)

export function FileActions({ file }: { file: FileDetails }) {
  const error = useSignal<ApiError | undefined>(undefined)
  const message = useSignal('')
  const isDeleting = useSignal(false)
  const createDownloadLink = async () => {
    const { data, error: mutationError } = await mutate(urlDocument, { id: file.id })
    error.value = mutationError
    return data?.createDownloadUrl ?? undefined
  }
  const downloadFile = async () => {
    const link = await createDownloadLink()
    if (link) location.assign(link.downloadUrl)
  }
  const copyDownloadLink = async () => {
    const link = await createDownloadLink()
    if (!link) return
    await navigator.clipboard.writeText(link.downloadUrl)
    message.value = t.linkCopied(link.expiresInSeconds)
  }
  const deleteFile = async () => {
    const { error: mutationError } = await mutate(deleteDocument, { id: file.id })
    if (mutationError) return mutationError
    reloadData()
    navigate('/files')
    return undefined
  }
  return (
    <>
      <ErrorNotice error={error.value} />
      {message.value && (
        <span class="notice good" role="status">
          {message.value}
        </span>
      )}
      {hasScope('download') && (
        <>
          <Button onClick={copyDownloadLink} icon="copy">
            {t.copyLink}
          </Button>
          <Button kind="primary" icon="download" onClick={downloadFile}>
            {t.download}
          </Button>
        </>
      )}
      {hasScope('admin') && (
        <FileHold
          id={file.id}
          isHeld={Boolean(file.hold)}
          onError={(mutationError) => {
            error.value = mutationError
          }}
        />
      )}
      {hasScope('delete') && !file.hold && (
        <Button kind="danger" icon="trash" onClick={() => (isDeleting.value = true)}>
          {t.delete}
        </Button>
      )}
      {isDeleting.value && (
        <ConfirmDialog
          title={t.deleteTitle}
          warning={t.deleteWarning(file.originalFilename, formatBytes(file.sizeBytes))}
          action={t.delete}
          onConfirm={deleteFile}
          onClose={() => (isDeleting.value = false)}
        />
      )}
    </>
  )
}
