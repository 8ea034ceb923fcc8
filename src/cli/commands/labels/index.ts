import { print } from './print.ts'

export const verbs = [print]
