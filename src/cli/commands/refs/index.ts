import { show } from './show.ts'

export const verbs = [show]
