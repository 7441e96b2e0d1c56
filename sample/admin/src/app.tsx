import { Admin, Resource } from 'react-admin'
import { createBasicAuth, createDataProvider, createLiveMethods } from 'typeorm-resources/react-admin'
import { CityEdit, CityList } from './cities'
import { CountryEdit, CountryList } from './countries'
import { UserEdit, UserList } from './users'
import { VisitCreate, VisitEdit, VisitList } from './visits'

const { authProvider, fetch } = createBasicAuth('/api', { storage: sessionStorage })
const dataProvider = { ...createDataProvider('/api', { fetch }), ...createLiveMethods('/api', { fetch }) }

export function App() {
  return (
    <Admin title="World" dataProvider={dataProvider} authProvider={authProvider} requireAuth disableTelemetry>
      <Resource
        name="city"
        options={{ label: 'Cities' }}
        recordRepresentation="name"
        list={<CityList />}
        edit={<CityEdit />}
      />
      <Resource
        name="country"
        options={{ label: 'Countries' }}
        recordRepresentation="name"
        list={<CountryList />}
        edit={<CountryEdit />}
      />
      <Resource
        name="visit"
        options={{ label: 'Visits' }}
        list={<VisitList />}
        create={<VisitCreate />}
        edit={<VisitEdit />}
      />
      <Resource
        name="user"
        options={{ label: 'Users' }}
        recordRepresentation="username"
        list={<UserList />}
        edit={<UserEdit />}
      />
    </Admin>
  )
}
