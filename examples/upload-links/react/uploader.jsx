import { useEffect, useState } from 'react'

/** Lets the user upload photos. `onUploaded` receives `{ fileId, name, size }` of each stored file. */
export function Uploader({ onUploaded }) {
  const [url, setUrl] = useState()
  useEffect(() => {
    let isMounted = true
    createLink().then((created) => isMounted && setUrl(created))
    return () => {
      isMounted = false
    }
  }, [])
  // React 19 adds listeners for properties that start with `on`, also to custom elements.
  return url && <assay-uploader url={url} onassay-accepted={({ detail }) => onUploaded(detail)} />
}

/** Asks the server of this page for a link, and loads the web component from the service. */
async function createLink() {
  const { url } = await (await fetch('/upload-link', { method: 'POST' })).json()
  await import(/* webpackIgnore: true */ /* @vite-ignore */ new URL('../uploader.js', url).href)
  return url
}
