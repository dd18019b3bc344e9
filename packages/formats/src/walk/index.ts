export { containerKinds } from './openers.js'
export {
  type Visitor,
  WalkEnded,
  type WalkLimits,
  type WindowPlace,
  walkLimits,
} from './visitor.js'
export { Walk, walk } from './walk.js'
export { overlapBytes, windowBytes } from './windows.js'
