import type { FastifyRequest } from 'fastify'

/**
 * Programs that fetch a shared link for its preview, and say so. Apps that open links in a browser of their own name
 * themselves too (`Telegram-Android`, `Instagram`, `[LinkedInApp]`): those are people.
 */
const names =
  /facebookexternalhit|facebookcatalog|meta-external|facebot|^WhatsApp\/|slackbot|slack-imgproxy|twitterbot|telegrambot|linkedinbot|discordbot|applebot|skypeuripreview|googlebot|google-inspectiontool|googleother|bingbot|bingpreview|microsoftpreview|mastodon\/|pleroma|misskey\/|bluesky cardyb|pinterestbot|^pinterest\/|redditbot|vkshare|embedly|iframely|snap url preview|yandexbot|duckduckbot|baiduspider|petalbot|qwantify/i

/** By convention, a crawler shows where it is described: `(+https://…)`. Browsers never do. */
const convention = /\+ ?https?:\/\//

/** The request names itself as a crawler of links. Anyone can, so it must get no more than a stranger. */
export function isCrawler({ headers }: Pick<FastifyRequest, 'headers'>): boolean {
  const agent = headers['user-agent']
  return agent !== undefined && (names.test(agent) || convention.test(agent))
}
