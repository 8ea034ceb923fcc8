import { deploy } from './deploy.ts'
import { edit } from './edit.ts'
import { list } from './list.ts'
import { register } from './register.ts'
import { remove } from './remove.ts'
import { setUrl } from './set-url.ts'
import { show } from './show.ts'

export const verbs = [list, show, deploy, register, edit, setUrl, remove]
