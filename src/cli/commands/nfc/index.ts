import { read } from './read.ts'
import { readers } from './readers.ts'
import { verify } from './verify.ts'
import { watch } from './watch.ts'

export const verbs = [readers, read, watch, verify]
