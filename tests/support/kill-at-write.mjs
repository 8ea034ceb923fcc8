// Loaded before a program by `node --import`: kills it with SIGKILL before the n-th change of the file system that it
// makes itself (KILL_AT=n). SQLite's own writes are not counted: they are a database's, and atomic.
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

const at = Number(process.env.KILL_AT)
let changes = 0

const step = () => {
  changes += 1
  if (changes === at) process.kill(process.pid, 'SIGKILL')
}

for (const name of ['renameSync', 'rmSync', 'mkdirSync', 'writeFileSync', 'chownSync', 'fsyncSync']) {
  const original = fs[name]
  fs[name] = (...args) => {
    step()
    return original(...args)
  }
}
for (const name of ['copyFile', 'cp']) {
  const original = fs.promises[name]
  fs.promises[name] = (...args) => {
    step()
    return original(...args)
  }
}
syncBuiltinESMExports()
process.on('exit', () => process.stderr.write(`changes: ${changes}\n`))
