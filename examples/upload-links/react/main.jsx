import { useState } from 'react'
import { createRoot } from 'react-dom/client'
import { Uploader } from './uploader.jsx'

function App() {
  const [files, setFiles] = useState([])
  return (
    <main>
      <h1>Report a damage</h1>
      <Uploader onUploaded={(file) => setFiles((earlier) => [...earlier, file])} />
      <p>
        Uploaded: <output>{files.map(({ name }) => name).join(' ')}</output>
      </p>
    </main>
  )
}

createRoot(document.getElementById('root')).render(<App />)
