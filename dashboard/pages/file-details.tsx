import { formatBytes, formatNumber } from '../api/format.js'
import { CopyButton } from '../components/copy-button.js'
import { Time } from '../components/time.js'
import { texts } from '../texts.js'
import type { FileDetails } from './file-query.js'
import { FileStatus } from './file-status.js'

const t = texts.file

export const FileDetailsCard = ({ file }: { file: FileDetails }) => (
  <section class="card">
    <h2>{t.details}</h2>
    <dl class="facts">
      <dt>{texts.files.status}</dt>
      <dd>
        <FileStatus file={file} />
      </dd>
      <dt>{texts.files.context}</dt>
      <dd>
        <a href={`/contexts/${file.contextKey}`}>{file.context?.displayName ?? file.contextKey}</a>
      </dd>
      <dt>{texts.files.type}</dt>
      <dd>{file.contentType}</dd>
      <dt>{texts.files.size}</dt>
      <dd>
        {formatBytes(file.sizeBytes)} <span class="dim">({formatNumber(file.sizeBytes)} B)</span>
      </dd>
      <dt>{texts.files.uploaded}</dt>
      <dd>
        <Time at={file.createdAt} />
      </dd>
      <dt>{texts.files.uploader}</dt>
      <dd>{file.uploader ? t.uploadedBy(file.uploader.name, file.uploader.type) : texts.none}</dd>
      <dt>{texts.files.downloads}</dt>
      <dd>{formatNumber(file.downloadCount)}</dd>
      <dt>{t.lastDownload}</dt>
      <dd>
        <Time at={file.lastDownloadedAt} />
      </dd>
      <dt>{t.id}</dt>
      <dd class="row nowrap">
        <span class="mono">{file.id}</span>
        <CopyButton text={file.id} />
      </dd>
      {file.hold && (
        <>
          <dt>{t.onHold}</dt>
          <dd>
            {file.hold.reason} <Time at={file.hold.heldAt} />
          </dd>
        </>
      )}
      <dt>{t.checksum}</dt>
      <dd class="row nowrap">
        <span class="mono">{file.checksum}</span>
        <CopyButton text={file.checksum} />
      </dd>
      {Object.keys(file.metadata).length > 0 && (
        <>
          <dt>{t.metadata}</dt>
          <dd>
            <pre class="json">{JSON.stringify(file.metadata, null, 2)}</pre>
          </dd>
        </>
      )}
    </dl>
  </section>
)
