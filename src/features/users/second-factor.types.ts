import { field, objectType } from '../../api/graphql/type-declarations.js'

export const SecondFactorSetUp = objectType(
  'SecondFactorSetUp',
  'A new second factor. It has no effect until its first code is confirmed.',
  {
    secret: field(String, 'Secret in base32, for manual entry in an authenticator app.'),
    uri: field(String, 'Secret as an `otpauth://` URI, for a QR code.'),
  },
)
export type SecondFactorSetUp = InstanceType<typeof SecondFactorSetUp>

export const ConfirmedSecondFactor = objectType('ConfirmedSecondFactor', 'A newly enabled second factor.', {
  recoveryCodes: field(
    [String],
    'Single-use recovery codes for signing in without the authenticator app. Only this response contains them.',
  ),
})
export type ConfirmedSecondFactor = InstanceType<typeof ConfirmedSecondFactor>
