import { expect, onTestFinished, test } from 'vitest'
import { MB, measureUpload, memory } from '../support/badge-memory.ts'
import { poapEnv } from '../support/badges.ts'
import { PoapStandIn } from '../support/poap/stand-in.ts'

test('an upload of 4 MB raises the memory by a few times its size', async () => {
  const { url, id, rise, image, upload, pid, before } = await measureUpload()
  const served = await (await fetch(`${url}/badge-events/${id}/image`)).arrayBuffer()
  expect(served.byteLength).toBe(image.length)
  for (let n = 0; n < 20; n += 1) await upload(image)
  const later = memory(pid)
  console.log(
    `embedded: +${(rise / MB).toFixed(1)} MB at the peak; after 20 more +${((later.now - before.now) / MB).toFixed(1)} MB`,
  )
  expect(rise).toBeLessThan(40 * MB)
}, 60_000)

test('and so does one that goes on to POAP', async () => {
  const poap = await PoapStandIn.open()
  onTestFinished(() => poap.close())
  const { rise } = await measureUpload(poapEnv(poap, { TAPCHIP_POAP_TIMEOUT_MS: '10000' }))
  console.log(`poap: +${(rise / MB).toFixed(1)} MB at the peak`)
  expect(rise).toBeLessThan(40 * MB)
}, 60_000)
