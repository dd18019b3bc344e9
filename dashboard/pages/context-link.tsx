import { contextNames } from './use-contexts.js'

/** Link to a context that shows its name. The page must call `useContexts` to load the names. */
export const ContextLink = ({ contextKey }: { contextKey: string }) => (
  <a href={`/contexts/${contextKey}`} title={contextKey}>
    {contextNames.value.get(contextKey) ?? contextKey}
  </a>
)
