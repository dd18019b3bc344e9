type Child = Node | string | false | undefined

/** Creates an element, which pages can style with `::part` if it has a `part` attribute. Text is never parsed as markup. */
export function createElement<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Record<string, string | boolean | undefined> = {},
  ...children: Child[]
): HTMLElementTagNameMap[Name] {
  const created = document.createElement(name)
  for (const [key, value] of Object.entries(attributes))
    if (value !== undefined && value !== false) created.setAttribute(key, value === true ? '' : value)
  created.append(...children.filter((child) => child !== false && child !== undefined))
  return created
}

export function createButton(label: string, options: { part: string; ariaLabel?: string; onClick(): void }): HTMLButtonElement {
  const { part, ariaLabel, onClick } = options
  const created = createElement('button', { type: 'button', part: `button ${part}`, 'aria-label': ariaLabel }, label)
  created.addEventListener('click', onClick)
  return created
}
