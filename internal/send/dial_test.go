package send

import (
	"crypto/tls"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestACertificateThatHasExpiredIsNoLostReply asks for the error that rueidis
// gives to a call whose connection does not come about.
func TestACertificateThatHasExpiredIsNoLostReply(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.TLSExpired())
	dialer := tls.Dialer{Config: redistest.TLSConfig(t)}
	_, err := dialer.DialContext(t.Context(), "tcp", server.Addr())
	require.ErrorContains(t, err, "expired")
	require.Equal(t, refused, classify(err))
}
