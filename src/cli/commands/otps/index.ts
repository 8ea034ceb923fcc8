import { remove } from './delete.ts'
import { show } from './show.ts'

export const verbs = [show, remove]
