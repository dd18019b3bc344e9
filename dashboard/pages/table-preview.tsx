import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { Skeleton } from '../components/notices.js'
import { texts } from '../texts.js'

const t = texts.file

const maxRows = 200
const maxColumns = 50

/** Shows the first rows of a CSV file. The first row is the header. */
export function TablePreview({ text, isTruncated }: { text: string; isTruncated: boolean }) {
  const rows = useSignal<readonly string[][] | undefined>(undefined)
  useEffect(() => {
    // The CSV parser is loaded on demand, because few users open CSV files.
    void import('papaparse').then(({ default: { parse } }) => {
      const { data } = parse<string[]>(text, { preview: maxRows + 2, skipEmptyLines: 'greedy' })
      // The last row of truncated text may be incomplete.
      rows.value = isTruncated && data.length <= maxRows + 1 ? data.slice(0, -1) : data
    })
  }, [text])
  if (!rows.value) return <Skeleton lines={4} />
  const [header = [], ...body] = rows.value
  const columnCount = Math.min(maxColumns, Math.max(...rows.value.map((row) => row.length)))
  const columns = Array.from({ length: columnCount }, (_, at) => at)
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: keyboard users must be able to scroll the table. */}
      <section class="preview-table" tabIndex={0} aria-label={t.preview}>
        <table>
          <thead>
            <tr>
              {columns.map((at) => (
                <th key={at} scope="col">
                  {header[at]}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {body.slice(0, maxRows).map((row, line) => (
              <tr key={line}>
                {columns.map((at) => (
                  <td key={at}>{row[at]}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      {body.length > maxRows && <p class="hint">{t.firstRows(maxRows)}</p>}
    </>
  )
}
