// Pages for those who have no session, in the language of their browser.

const words = {
  en: {
    used: 'This link was already used',
    usedWhy:
      'A link opens the console once, in one browser. If it was not you who used it, end the console and start it again.',
    none: 'This browser has not opened the console yet',
    noneWhy: 'Pages of a console open after its link has been used in this browser.',
    next: 'Press Enter in the terminal where tapchip console runs, and open the new link. If it no longer runs: tapchip console',
    opening: 'Opening the console',
    open: 'Open it',
  },
  de: {
    used: 'Dieser Link wurde schon benutzt',
    usedWhy:
      'Ein Link öffnet die Konsole einmal, in einem Browser. Wenn nicht du ihn benutzt hast, beende die Konsole und starte sie neu.',
    none: 'In diesem Browser ist die Konsole noch nicht geöffnet',
    noneWhy: 'Ihre Seiten öffnen sich, nachdem ihr Link in diesem Browser benutzt wurde.',
    next: 'Drücke im Terminal, in dem tapchip console läuft, die Eingabetaste und öffne den neuen Link. Läuft sie nicht mehr: tapchip console',
    opening: 'Die Konsole wird geöffnet',
    open: 'Öffnen',
  },
} as const

type Language = keyof typeof words

export const languageOf = (accepted: string | undefined): Language =>
  /^\s*de\b/i.test(accepted ?? '') ? 'de' : 'en'

const page = (language: Language, title: string, head: string, body: string): string =>
  `<!doctype html><html lang="${language}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">` +
  `<meta name="color-scheme" content="light dark"><title>${title}</title>${head}</head>` +
  `<body class="notice"><main><h1>${title}</h1>${body}</main></body></html>`

/** @param why the link was used, or there never was one @param stylesheet its path */
export function noSession(why: 'used' | 'none', language: Language, stylesheet: string): string {
  const said = words[language]
  const text = why === 'used' ? said.usedWhy : said.noneWhy
  const link = `<link rel="stylesheet" href="${stylesheet}">`
  return page(language, said[why], link, `<p>${text}</p><p>${said.next}</p>`)
}

/** A page of our own leads on, so that the browser sends our cookie along. @param to a path that is safe in HTML */
export function leadOn(to: string, language: Language, stylesheet: string): string {
  const said = words[language]
  const head = `<meta http-equiv="refresh" content="0;url=${to}"><link rel="stylesheet" href="${stylesheet}">`
  return page(language, said.opening, head, `<p><a href="${to}">${said.open}</a></p>`)
}
