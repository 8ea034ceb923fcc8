import type { Locator, Page, Route } from 'playwright-core'
import { expect } from 'vitest'

/**
 * Notes, from when the page can be read, each thing to press or to type in that is not where it was: in every frame, and
 * after every change in between.
 */
export const watchPlaces = `
  window.moved = []
  document.addEventListener('DOMContentLoaded', () => {
    const before = new Map()
    const look = () => {
      for (const element of document.querySelectorAll('a[href], button, input:not([type=hidden]), summary')) {
        const { left, top, width, height } = element.getBoundingClientRect()
        // The bar stays at the foot of the screen while the page is scrolled.
        if (width === 0 || element.closest('.bar')) continue
        const now = [left + scrollX, top + scrollY, width, height]
        const was = before.get(element)
        if (was?.some((value, index) => Math.abs(value - now[index]) > 0.5))
          moved.push([element.outerHTML.replace(/value="[^"]{40,}"/, '').slice(0, 100), was.join(), now.join()].join(' '))
        before.set(element, now)
      }
    }
    const everyFrame = () => { look(); requestAnimationFrame(everyFrame) }
    new MutationObserver(look).observe(document, { subtree: true, childList: true, attributes: true, characterData: true })
    everyFrame()
  })`

export const moved = (page: Page) => page.evaluate<string[]>('window.moved')

/** Presses where something stood before: a finger is on its way for a while. @param until what happens meanwhile */
export async function pressAhead(target: Locator, until: () => Promise<unknown>): Promise<void> {
  await target.evaluate((element) => element.scrollIntoView({ block: 'center' }))
  const box = await target.boundingBox()
  if (!box) throw new Error(`${target} is not to be seen`)
  await until()
  await target.page().touchscreen.tap(box.x + box.width / 2, box.y + box.height / 2)
}

/** Lets the answers of a path wait until they are let through. */
export async function holdAnswers(page: Page, path: string) {
  const held: Route[] = []
  let asked = 0
  await page.route(`**${path}`, (route) => {
    asked += 1
    held.push(route)
  })
  return {
    /** Of the requests so far. */
    count: () => asked,
    async letThrough(): Promise<void> {
      await expect.poll(() => held.length, { message: path }).toBeGreaterThan(0)
      for (const route of held.splice(0)) await route.continue()
    },
  }
}
