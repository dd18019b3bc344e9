export { containerKinds } from './openers.js'
export {
  type Visitor,
  WalkEnded,
  type WalkLimits,
  type WindowPlace,
  walkLimits,
} from './visitor.js'
export { Walk } from './walk.js'
export { overlapBytes, windowBytes } from './windows.js'
