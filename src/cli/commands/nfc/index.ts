import { provision } from './provision.ts'
import { read } from './read.ts'
import { readers } from './readers.ts'
import { recover } from './recover.ts'
import { reset } from './reset.ts'
import { selftest } from './selftest.ts'
import { verify } from './verify.ts'
import { watch } from './watch.ts'

export const verbs = [readers, read, watch, verify, provision, recover, reset, selftest]
