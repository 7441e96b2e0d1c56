import { BooleanField, BooleanInput, DataTable, Edit, List, SimpleForm, TextInput } from 'react-admin'

const filters = [<TextInput key="username" source="username__contains" label="Username" alwaysOn resettable />]

/** For administrators: others are told so. */
export function UserList() {
  return (
    <List filters={filters} sort={{ field: 'username', order: 'ASC' }}>
      <DataTable bulkActionButtons={false}>
        <DataTable.Col source="username" />
        <DataTable.Col source="admin" field={BooleanField} />
        <DataTable.Col source="active" field={BooleanField} />
      </DataTable>
    </List>
  )
}

export function UserEdit() {
  return (
    <Edit mutationMode="pessimistic">
      <SimpleForm>
        <TextInput source="username" />
        <BooleanInput source="admin" />
        <BooleanInput source="active" />
      </SimpleForm>
    </Edit>
  )
}
