package connecting

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"time"

	"github.com/redis/rueidis"
)

// withExpired adds to the error of a connection that one of the client's own
// certificates has expired. The server says so too when it hangs up, but what
// it says is lost if the client has sent something meanwhile.
func withExpired(err error, option rueidis.ClientOption) error {
	for _, config := range []*tls.Config{option.TLSConfig, option.Sentinel.TLSConfig} {
		if config == nil {
			continue
		}
		for _, own := range config.Certificates {
			if end, known := validUntil(own); known && time.Now().After(end) {
				return fmt.Errorf("%w (the client's own certificate has expired: it was valid until %s)", err, end.Format(time.RFC3339))
			}
		}
	}
	return err
}

func validUntil(own tls.Certificate) (end time.Time, known bool) {
	leaf := own.Leaf
	if leaf == nil && len(own.Certificate) > 0 {
		leaf, _ = x509.ParseCertificate(own.Certificate[0])
	}
	if leaf == nil {
		return time.Time{}, false
	}
	return leaf.NotAfter, true
}
