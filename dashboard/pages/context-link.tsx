import { contextNames } from './use-contexts.js'

/** Link to a context with its name. The page must call `useContexts`, which loads the names. */
export const ContextLink = ({ contextKey }: { contextKey: string }) => (
  <a href={`/contexts/${contextKey}`} title={contextKey}>
    {contextNames.value.get(contextKey) ?? contextKey}
  </a>
)
