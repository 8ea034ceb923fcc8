// The licenses of the packages whose code is in the bundles, as these licenses ask.
import { readdirSync, readFileSync } from 'node:fs'

/** The folder of a package that a bundled file is from; undefined for our own. */
const folderOf = (file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0]

/** @param metafiles esbuild's, one a bundle @throws Error for a package without a license */
export function licensesOf(metafiles) {
  const files = metafiles.flatMap(({ outputs }) =>
    Object.values(outputs).flatMap(({ inputs }) =>
      Object.entries(inputs).flatMap(([file, { bytesInOutput }]) => (bytesInOutput > 0 ? [file] : [])),
    ),
  )
  const folders = [...new Set(files.map(folderOf))].filter((folder) => folder !== undefined)
  const packages = folders.map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8'))
    const texts = readdirSync(folder)
      .filter((file) => /^(licen[cs]e|copying|notice)/i.test(file))
      .sort()
      .map((file) => readFileSync(`${folder}/${file}`, 'utf8').trim())
    if (texts.length === 0 && !license) throw new Error(`${name} has no license that could be shipped`)
    return { title: `${name} ${version}${license ? ` (${license})` : ''}`, text: texts.join('\n\n') }
  })
  const sorted = packages.sort((a, b) => (a.title < b.title ? -1 : 1))
  const parts = sorted.map(({ title, text }) => `${'-'.repeat(80)}\n${title}\n\n${text}`.trimEnd())
  return `The programs of this package contain code of the following packages.\n\n${parts.join('\n\n')}\n`
}
