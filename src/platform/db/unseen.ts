/**
 * An array that is a parameter, so that the planner does not look at it. One that it sees it takes to be shorter than any, and plans the
 * prepared statement anew each time: twice the cost of its execution.
 */
export const unseen = (parameter: string, type: 'text' | 'bytea' = 'text'): string =>
  `(SELECT ${parameter}::${type}[])::${type}[]`
