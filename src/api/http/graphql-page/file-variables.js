import { createElement, useState } from 'react'

/** Selected files with the names of their variables. */
let chosen = []

/** Returns the selected files whose variables occur in the document. */
export const chosenFiles = (query) => chosen.filter(({ variable, file }) => file && new RegExp(`\\$${variable}\\b`).test(query))

const isName = (variable) => /^[A-Za-z_]\w*$/.test(variable)

/** Panel that selects files for variables of the type Upload, for which GraphiQL has no input. */
function FileVariables() {
  const [files, setFiles] = useState(chosen.length > 0 ? chosen : [{ variable: 'file', file: undefined }])
  const update = (next) => {
    chosen = next.filter(({ variable }) => isName(variable))
    setFiles(next)
  }
  const change = (index, part) => update(files.map((each, at) => (at === index ? { ...each, ...part } : each)))
  return createElement(
    'section',
    { className: 'file-variables' },
    createElement('h2', null, 'File variables'),
    createElement('p', null, 'Select a file for each variable of type Upload, such as $file in uploadFile.'),
    ...files.map((each, index) => fileInputs(each, { index, change })),
    createElement('button', { type: 'button', onClick: () => update([...files, { variable: '', file: undefined }]) }, 'Add file'),
  )
}

function fileInputs({ variable, file }, { index, change }) {
  return createElement(
    'div',
    { key: index },
    createElement(
      'label',
      null,
      'Variable',
      createElement('input', {
        value: variable,
        onChange: ({ target }) => change(index, { variable: target.value.replace(/^\$/, '') }),
      }),
    ),
    createElement(
      'label',
      null,
      file ? `File: ${file.name}` : 'File',
      createElement('input', { type: 'file', onChange: ({ target }) => change(index, { file: target.files[0] }) }),
    ),
  )
}

const icon = () =>
  createElement(
    'svg',
    { viewBox: '0 0 24 24', fill: 'none', stroke: 'currentColor', strokeWidth: 1.5, 'aria-hidden': true },
    createElement('path', { d: 'M12 16V4m0 0 5 5m-5-5L7 9M4 16v4h16v-4' }),
  )

export const fileVariables = { title: 'File variables', icon, content: FileVariables }
