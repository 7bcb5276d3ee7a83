package redistest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"
)

// TLS makes servers speak TLS and nothing else: they have no plain port, ask clients for a certificate, and replicate,
// watch each other and form a cluster by TLS. The certificates are made by the test process, see [TLSConfig]. The
// clients of [Server.Client] and its like have what it takes.
func TLS() Option { return func(o *options) { o.tls = tlsOptions{on: true, auth: "yes"} } }

// TLSForAll is [TLS] for servers that ask no client for a certificate.
func TLSForAll() Option { return func(o *options) { o.tls = tlsOptions{on: true, auth: "no"} } }

// TLSExpired is [TLS] with a certificate of the server's that has expired.
func TLSExpired() Option {
	return func(o *options) { o.tls = tlsOptions{on: true, auth: "yes", expired: true} }
}

type tlsOptions struct {
	on, expired bool
	auth        string
}

// TLSConfig returns that of a client which the servers let in, and which checks their certificates.
func TLSConfig(t testing.TB) *tls.Config {
	t.Helper()
	return &tls.Config{RootCAs: mustAuthority(t).pool, Certificates: []tls.Certificate{issued(t, time.Hour)}, MinVersion: tls.VersionTLS12}
}

// TLSFiles returns what [TLSConfig] has as PEM files: of the authority, and of a client's certificate and its key.
func TLSFiles(t testing.TB) (ca, cert, key string) {
	t.Helper()
	dir, own := t.TempDir(), issued(t, time.Hour)
	ca, cert, key = filepath.Join(dir, "ca.pem"), filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	private, err := x509.MarshalPKCS8PrivateKey(own.PrivateKey)
	err = errors.Join(err,
		writePEM(ca, "CERTIFICATE", mustAuthority(t).cert.Raw),
		writePEM(cert, "CERTIFICATE", own.Certificate[0]),
		writePEM(key, "PRIVATE KEY", private))
	if err != nil {
		t.Fatal(err)
	}
	return ca, cert, key
}

// ExpiredCertificate returns one that the servers would have let in an hour ago.
func ExpiredCertificate(t testing.TB) tls.Certificate {
	t.Helper()
	return issued(t, -time.Hour)
}

func issued(t testing.TB, valid time.Duration) tls.Certificate {
	t.Helper()
	cert, err := mustAuthority(t).issue(valid)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

func mustAuthority(t testing.TB) *authority {
	t.Helper()
	a, err := theAuthority()
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// authority issues the certificates of this process.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pool *x509.CertPool
}

var theAuthority = sync.OnceValues(func() (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := certificate(time.Hour)
	template.Subject.CommonName = "redistest authority" // OpenSSL takes a name that issued itself for the end of the chain
	template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	pool.AddCert(cert)
	return &authority{cert, key, pool}, nil
})

// certificate returns one for 127.0.0.1 that ends after valid, which may be negative.
func certificate(valid time.Duration) *x509.Certificate {
	serial, _ := rand.Int(rand.Reader, big.NewInt(1<<62))
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: "redistest"},
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore:    time.Now().Add(-24 * time.Hour),
		NotAfter:     time.Now().Add(valid),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
}

func (a *authority) issue(valid time.Duration) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	der, err := x509.CreateCertificate(rand.Reader, certificate(valid), a.cert, key.Public(), a.key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}

// secured has the addresses at which TLS is spoken now.
var secured sync.Map

// lines returns the settings of a server in dir.
func (o options) lines(dir string, port int) ([]setting, error) {
	all := slices.Clone(o.settings)
	if o.json {
		all = append(all, setting{"loadmodule", findJSON()})
	}
	if !o.tls.on {
		secured.Delete(address(port)) // it may have been the port of another server
		return all, nil
	}
	secured.Store(address(port), true)
	own, err := o.tls.lines(dir, port)
	return append(own, all...), err
}

func (o tlsOptions) lines(dir string, port int) ([]setting, error) {
	a, err := theAuthority()
	if err != nil {
		return nil, err
	}
	valid := time.Hour
	if o.expired {
		valid = -time.Hour
	}
	cert, err := a.issue(valid)
	if err != nil {
		return nil, err
	}
	ca, crt, key := filepath.Join(dir, "ca.pem"), filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	private, err := x509.MarshalPKCS8PrivateKey(cert.PrivateKey)
	return []setting{
			{"port", "0"},
			{"tls-port", strconv.Itoa(port)},
			{"tls-ca-cert-file", ca},
			{"tls-cert-file", crt},
			{"tls-key-file", key},
			{"tls-auth-clients", o.auth},
			{"tls-replication", "yes"},
			{"tls-cluster", "yes"},
		}, errors.Join(err,
			writePEM(ca, "CERTIFICATE", a.cert.Raw),
			writePEM(crt, "CERTIFICATE", cert.Certificate[0]),
			writePEM(key, "PRIVATE KEY", private))
}

func writePEM(path, kind string, der []byte) error {
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}

// connect opens a connection to one of our servers. Its certificate is nobody's business here.
func connect(addr string, bound time.Duration) (net.Conn, error) {
	dialer := &net.Dialer{Timeout: bound}
	if _, ok := secured.Load(addr); !ok {
		return dialer.Dial("tcp", addr)
	}
	a, err := theAuthority()
	if err != nil {
		return nil, err
	}
	cert, err := a.issue(time.Hour)
	if err != nil {
		return nil, err
	}
	return tls.DialWithDialer(dialer, "tcp", addr, &tls.Config{Certificates: []tls.Certificate{cert}, InsecureSkipVerify: true})
}
