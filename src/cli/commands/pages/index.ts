import { preview } from './preview.ts'

export const verbs = [preview]
