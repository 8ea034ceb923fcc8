// Loaded before the daemon by `node --import`: kills it with SIGKILL right before or after (KILL_WHEN) the commit of the
// first transaction, or of the KILL_AT-th, in which a statement matches KILL_SQL.
import Database from 'better-sqlite3'

const pattern = new RegExp(process.env.KILL_SQL ?? '(?!)', 'i')
let left = Number(process.env.KILL_AT ?? 1)
let armed

const { prepare } = Database.prototype
Database.prototype.prepare = function (sql) {
  const statement = prepare.call(this, sql)
  const isCommit = sql === 'COMMIT'
  if (!isCommit && !pattern.test(sql)) return statement
  for (const name of ['run', 'get', 'all']) {
    const original = statement[name].bind(statement)
    statement[name] = (...args) => {
      if (!isCommit) armed = this
      const isSuch = isCommit && armed === this
      if (isSuch) {
        armed = undefined
        left -= 1
      }
      const isLast = isSuch && left === 0
      if (isLast && process.env.KILL_WHEN === 'before') process.kill(process.pid, 'SIGKILL')
      const result = original(...args)
      if (isLast) process.kill(process.pid, 'SIGKILL')
      return result
    }
  }
  return statement
}
