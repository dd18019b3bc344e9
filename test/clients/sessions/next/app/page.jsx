'use client'
import * as client from '@assay/client'
import { useEffect } from 'react'

export default function Page() {
  useEffect(() => {
    globalThis.assay = client
  }, [])
  return <main>Upload</main>
}
