import {
  type ASTVisitor,
  type FieldNode,
  GraphQLError,
  type GraphQLSchema,
  Kind,
  type OperationDefinitionNode,
  type ValidationContext,
} from 'graphql'
import { type ComplexityEstimatorArgs, getComplexity } from 'graphql-query-complexity'

const mostDepth = 12
const mostFields = 2_000
const mostRootFields = 20
const mostDirectives = 50
/** Objects and values that an answer may have, as far as the document tells: nested lists of 100 multiply. */
const mostCost = 50_000

/** Tokens of a document: what a parser may be given to chew on. */
export const mostTokens = 8_000

const tooMuch = (message: string) => new GraphQLError(message, { extensions: { code: 'BAD_USER_INPUT' } })

/** A validation rule: depth, number of fields, root fields and directives. Aliases count as the fields that they are. */
export function sizeRule(context: ValidationContext): ASTVisitor {
  let directives = 0
  return {
    Directive: () => {
      if (++directives === mostDirectives + 1)
        context.reportError(tooMuch(`A document may have at most ${mostDirectives} directives.`))
    },
    OperationDefinition: (operation) => {
      if (operation.selectionSet.selections.length > mostRootFields)
        context.reportError(tooMuch(`An operation may ask for at most ${mostRootFields} root fields.`))
      const size = measure(context, operation)
      if (size.depth > mostDepth) context.reportError(tooMuch(`An operation may be at most ${mostDepth} levels deep.`))
      else if (size.fields > mostFields) context.reportError(tooMuch(`An operation may ask for at most ${mostFields} fields.`))
    },
  }
}

// Stops as soon as either bound is broken, so that fragments that spread each other many times cost no more than a plain document.
function measure(context: ValidationContext, operation: OperationDefinitionNode): { depth: number; fields: number } {
  let fields = 0
  let deepest = 0
  const walk = (
    selections: OperationDefinitionNode['selectionSet']['selections'],
    depth: number,
    open: ReadonlySet<string>,
  ): void => {
    for (const selection of selections) {
      if (fields > mostFields || deepest > mostDepth) return
      if (selection.kind === Kind.FIELD) {
        // What introspection asks of itself is bounded by the schema.
        if (selection.name.value.startsWith('__')) continue
        fields++
        deepest = Math.max(deepest, depth)
        walk((selection as FieldNode).selectionSet?.selections ?? [], depth + 1, open)
      } else if (selection.kind === Kind.INLINE_FRAGMENT) walk(selection.selectionSet.selections, depth, open)
      else if (!open.has(selection.name.value)) {
        const fragment = context.getFragment(selection.name.value)
        if (fragment) walk(fragment.selectionSet.selections, depth, new Set([...open, selection.name.value]))
      }
    }
  }
  walk(operation.selectionSet.selections, 1, new Set())
  return { depth: deepest, fields }
}

/** Throws where the operation asks for more than an answer may hold. */
export function refuseByCost(
  schema: GraphQLSchema,
  request: { document: never; operationName?: string | null; variables?: Record<string, unknown> | null },
): void {
  const cost = getComplexity({
    schema,
    query: request.document,
    ...(request.operationName && { operationName: request.operationName }),
    variables: request.variables ?? {},
    estimators: [estimate],
  })
  if (cost > mostCost) throw tooMuch(`This asks for about ${cost} values; ${mostCost} are the most. Ask for smaller pages.`)
}

function estimate({ args, childComplexity }: ComplexityEstimatorArgs): number {
  const asked = args.first ?? args.pageSize
  const items = typeof asked === 'number' && asked > 0 ? Math.min(asked, 100) : 1
  return 1 + items * childComplexity
}
