// Asks the service that serves this page, and nobody else: no other file, no other host.
const at = (id) => document.getElementById(id)
const endpoint = new URL('../graphql', import.meta.url)

async function ask(query, variables) {
  const credential = at('credential').value.trim()
  const response = await fetch(endpoint, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/graphql-response+json, application/json;q=0.9',
      ...(credential && { authorization: `Bearer ${credential}` }),
    },
    body: JSON.stringify({ query, variables }),
  })
  return { status: response.status, answer: await response.json() }
}

async function run() {
  at('status').textContent = '…'
  const began = performance.now()
  try {
    const variables = at('variables').value.trim()
    const { status, answer } = await ask(at('query').value, variables === '' ? {} : JSON.parse(variables))
    at('status').textContent = `${status}, ${Math.round(performance.now() - began)} ms`
    at('result').value = JSON.stringify(answer, null, 2)
  } catch (error) {
    at('status').textContent = 'not asked'
    at('result').value = String(error)
  }
}

at('run').addEventListener('click', run)
document.addEventListener('keydown', (event) => {
  if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return
  event.preventDefault()
  run()
})

const type = 'kind name ofType { kind name ofType { kind name ofType { kind name } } }'
const introspection = `{ __schema {
  queryType { name } mutationType { name }
  types { kind name description enumValues { name description } inputFields { name description defaultValue type { ${type} } }
    fields { name description type { ${type} } args { name description defaultValue type { ${type} } } } }
} }`

const written = ({ kind, name, ofType }) =>
  kind === 'NON_NULL' ? `${written(ofType)}!` : kind === 'LIST' ? `[${written(ofType)}]` : name
const innermost = (reference) => (reference.ofType ? innermost(reference.ofType) : reference)

/** A document that asks for a root field: its required arguments as variables, and what it has of plain values. */
function documentOf(kind, field, types) {
  const needed = field.args.filter(({ type, defaultValue }) => type.kind === 'NON_NULL' && defaultValue === null)
  const variables = needed.map(({ name, type }) => `$${name}: ${written(type)}`).join(', ')
  const args = needed.map(({ name }) => `${name}: $${name}`).join(', ')
  const inner = selectionOf(types.get(innermost(field.type).name), types, 2)
  return `${kind}${variables && ` (${variables})`} {\n  ${field.name}${args && `(${args})`}${inner}\n}\n`
}

function selectionOf({ fields }, types, depth) {
  if (!fields) return ''
  const indent = '  '.repeat(depth)
  const selected = fields.flatMap((field) => {
    if (field.args.some(({ type }) => type.kind === 'NON_NULL')) return []
    const inner = types.get(innermost(field.type).name)
    if (!inner.fields) return [`${indent}${field.name}`]
    return ['data', 'edges', 'node', 'pageInfo', 'pagination'].includes(field.name) && depth < 5
      ? [`${indent}${field.name}${selectionOf(inner, types, depth + 1)}`]
      : []
  })
  return selected.length > 0 ? ` {\n${selected.join('\n')}\n${'  '.repeat(depth - 1)}}` : ' { __typename }'
}

function element(name, ...content) {
  const made = document.createElement(name)
  made.append(...content)
  return made
}

function entry(title, description, members, use) {
  const made = element('details', element('summary', element('code', title)), element('p', description ?? ''))
  for (const { name, description, type, args } of members)
    made.append(
      element(
        'p',
        element(
          'code',
          `${name}${args?.length ? `(${args.map((arg) => arg.name).join(', ')})` : ''}${type ? `: ${written(type)}` : ''}`,
        ),
        ` ${description ?? ''}`,
      ),
    )
  if (use) {
    const button = element('button', 'Write it')
    button.addEventListener('click', use)
    made.append(button)
  }
  made.dataset.name = title.toLowerCase()
  return made
}

async function showSchema() {
  const { answer } = await ask(introspection, {})
  const { queryType, mutationType, types: all } = answer.data.__schema
  const types = new Map(all.map((type) => [type.name, type]))
  for (const [kind, root] of [
    ['query', queryType],
    ['mutation', mutationType],
  ])
    for (const field of types.get(root.name).fields)
      at('schema').append(
        entry(`${kind} ${field.name}: ${written(field.type)}`, field.description, field.args, () => {
          at('query').value = documentOf(kind, field, types)
          at('query').focus()
        }),
      )
  for (const { name, description, fields, inputFields, enumValues } of all)
    if (!name.startsWith('__') && name !== queryType.name && name !== mutationType.name)
      at('schema').append(entry(name, description, fields ?? inputFields ?? enumValues ?? []))
}

function showFound() {
  const wanted = at('find').value.trim().toLowerCase()
  for (const item of at('schema').children) item.hidden = !item.dataset.name.includes(wanted)
}

at('find').addEventListener('input', showFound)

showSchema()
  .then(showFound)
  .catch((error) => at('schema').append(String(error)))
