// The same transfers by a queue as relayer engines have it: jobs in a database, taken one at a time.
import BetterSqlite3 from 'better-sqlite3'
import type { Address } from 'viem'
import { phygitalAbi } from '../../src/daemon/chain/artifacts/phygital.ts'
import { clientOf, mintArgs, receiptOf } from './viem-transfers.ts'

/** Jobs that outlive a crash: each is taken, sent, waited for, and marked as done, with a flush of the disk each time. */
export function openTransferQueue(file: string, url: string, address: Address) {
  const db = new BetterSqlite3(file)
  db.pragma('journal_mode = WAL')
  db.pragma('synchronous = FULL')
  db.exec('create table jobs (id integer primary key, token integer, state text, hash text)')
  const add = db.prepare("insert into jobs (token, state) values (?, 'queued')")
  const take = db.prepare<[], { id: number; token: number }>(
    `update jobs set state = 'taken' where id = (select id from jobs where state = 'queued' order by id limit 1)
     returning id, token`,
  )
  const sent = db.prepare("update jobs set state = 'sent', hash = ? where id = ?")
  const done = db.prepare("update jobs set state = 'done' where id = ?")
  const client = clientOf(url)
  return {
    /** @returns transactions a second, until the last is mined */
    async round(from: number, count: number): Promise<number> {
      const started = performance.now()
      db.transaction(() => {
        for (let token = from; token < from + count; token++) add.run(token)
      })()
      for (let job = take.get(); job; job = take.get()) {
        const args = await mintArgs(address, job.token)
        const hash = await client.writeContract({ abi: phygitalAbi, address, functionName: 'mintNFT', args })
        sent.run(hash, job.id)
        const { status } = await receiptOf(client, hash)
        if (status !== 'success') throw new Error(`token ${job.token} was not minted`)
        done.run(job.id)
      }
      return count / ((performance.now() - started) / 1000)
    },
    close: () => db.close(),
  }
}
