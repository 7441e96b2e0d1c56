/** One thing to try: a `curl` line, and what it answers. */
export interface Stop {
  readonly title: string
  readonly curl: string
  /** What the answer is, in words; a status first. */
  readonly answer: string
}

/** Eight requests that each work when pasted, in any order and as often as one likes. */
export function tour(url: string): readonly Stop[] {
  return [
    {
      title: 'a list',
      curl: `curl '${url}/api/country/?limit=2'`,
      answer: '200, Afghanistan and Åland Islands',
    },
    {
      title: 'a filter with an operator',
      curl: `curl '${url}/api/city/?population__gte=12000000'`,
      answer: '200, the cities of twelve million people and more',
    },
    {
      title: 'a join filter two keys deep',
      curl: `curl -u eve:eve-secret '${url}/api/visit/?city__country__region=Europe'`,
      answer: '200, the visits to Europe',
    },
    {
      title: 'ordering and paging',
      curl: `curl '${url}/api/city/?country__name=Japan&ordering=-population&limit=3&page=2'`,
      answer: "200, Japan's fourth to sixth largest city, with links to the next page and the one before",
    },
    {
      title: 'a refused write',
      curl: `curl -i -X DELETE '${url}/api/language/1/'`,
      answer: '401, the default rule lets nobody write',
    },
    {
      title: 'a create as a user',
      curl: `curl -i -u bob:bob-secret '${url}/api/visit/' -d '{"city_id": 2643743, "rating": 5, "note": "London again"}'`,
      answer: '201, the new visit, whose user_id is 2',
    },
    {
      title: "an owner's update",
      curl: `curl -u bob:bob-secret -X PUT '${url}/api/visit/1/' -d '{"rating": 4}'`,
      answer: '200, the whole visit, its rating now 4',
    },
    {
      title: "another user's update",
      curl: `curl -i -u eve:eve-secret -X PUT '${url}/api/visit/1/' -d '{"rating": 1}'`,
      answer: '403, the visit is not hers',
    },
  ]
}
