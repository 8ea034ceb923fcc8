import { create } from './create.ts'
import { deliveries } from './deliveries.ts'
import { edit } from './edit.ts'
import { list } from './list.ts'
import { redeliver } from './redeliver.ts'
import { remove } from './remove.ts'
import { roll } from './roll.ts'
import { test } from './test.ts'

export const verbs = [list, create, test, deliveries, redeliver, edit, roll, remove]
