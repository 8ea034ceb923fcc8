import { copy } from './copy.ts'
import { markRestored } from './mark-restored.ts'

export const verbs = [copy, markRestored]
