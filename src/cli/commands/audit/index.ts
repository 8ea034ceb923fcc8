import { list } from './list.ts'

export const verbs = [list]
