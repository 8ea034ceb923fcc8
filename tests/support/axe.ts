import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'

const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']

/** @returns what axe finds against WCAG 2.2 A and AA: the rule, and where */
export async function audit(page: Page): Promise<string[]> {
  // By the protocol, since the page's policy lets no script in.
  await page.evaluate(`${source}; undefined`)
  const runOnly = JSON.stringify({ type: 'tag', values: tags })
  return page.evaluate(`axe.run(document, { runOnly: ${runOnly}, resultTypes: ['violations'] }).then(({ violations }) =>
    violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => id + ': ' + html.slice(0, 200))))`)
}
