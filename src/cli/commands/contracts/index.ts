import { list } from './list.ts'
import { register } from './register.ts'

export const verbs = [list, register]
