export { containerKinds } from './openers.js'
export {
  type Origin,
  overlapBytes,
  type Visitor,
  WalkEnded,
  type WalkLimits,
  type WindowPosition,
  type WindowReceiver,
  walkLimits,
  windowBytes,
} from './visitor.js'
export { Walk, walk } from './walk.js'
