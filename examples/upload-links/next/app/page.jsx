'use client'

import { useState } from 'react'
import { createUploadLink } from './actions.js'

export default function Page() {
  const [url, setUrl] = useState()
  const [files, setFiles] = useState([])
  async function start() {
    const created = await createUploadLink()
    await import(/* webpackIgnore: true */ /* turbopackIgnore: true */ new URL('../uploader.js', created).href)
    setUrl(created)
  }
  return (
    <main>
      <h1>Report a damage</h1>
      {url ? (
        <assay-uploader url={url} onassay-accepted={({ detail }) => setFiles((earlier) => [...earlier, detail])} />
      ) : (
        <form action={start}>
          <button type="submit">Add photos</button>
        </form>
      )}
      <p>
        Uploaded: <output>{files.map(({ name }) => name).join(' ')}</output>
      </p>
    </main>
  )
}
