package server

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/redis/rueidis"
	"github.com/spf13/pflag"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/internal/connecting"
)

// Environment variables that say how the server is reached.
const (
	EnvRedis        = "RUEIDISSON_REDIS"
	EnvPassword     = "RUEIDISSON_PASSWORD"
	EnvPasswordFile = "RUEIDISSON_PASSWORD_FILE"
	EnvCACert       = "RUEIDISSON_CACERT"
	EnvCert         = "RUEIDISSON_CERT"
	EnvKey          = "RUEIDISSON_KEY"
	EnvInsecure     = "RUEIDISSON_INSECURE"
)

const defaultURL = "redis://127.0.0.1:6379"

// Server is how the server is reached.
type Server struct {
	url          string
	password     string // that of the environment
	passwordFile string
	cacert       string
	cert, key    string
	insecure     bool
	ofFile       func() (string, error) // the password of --password-file, read once
	parsed       func() (rueidis.ClientOption, error)

	Flags *pflag.FlagSet
}

// fileFlag is a flag that names a file, and has a variable of the environment.
type fileFlag struct {
	Name, env, about string
	value            *string
}

// FileFlags returns the flags that name files.
func (s *Server) FileFlags() []fileFlag {
	return []fileFlag{
		{"password-file", EnvPasswordFile, "read the password from `FILE`", &s.passwordFile},
		{"cacert", EnvCACert, "with rediss://: trust the authorities in `FILE`, and no others", &s.cacert},
		{"cert", EnvCert, "with rediss://: the certificate of this client, in `FILE`", &s.cert},
		{"key", EnvKey, "with rediss://: the key of --cert, in `FILE`", &s.key},
	}
}

// AddFlags adds the flags that say how the server is reached. Defaults are of the environment, and no help text shows
// them: one may be a password.
func (s *Server) AddFlags(f *pflag.FlagSet, env []string) {
	s.Flags, s.ofFile = f, sync.OnceValues(s.readPassword)
	s.parsed = sync.OnceValues(s.parse)
	s.password = lookup(env, EnvPassword)
	if s.url = lookup(env, EnvRedis); s.url == "" {
		s.url = defaultURL
	}
	f.StringVar(&s.url, "redis", s.url, "`URL` of the server")
	f.Lookup("redis").DefValue = defaultURL
	for _, flag := range s.FileFlags() {
		f.StringVar(flag.value, flag.Name, lookup(env, flag.env), flag.about)
		f.Lookup(flag.Name).DefValue = ""
	}
	insecure, _ := strconv.ParseBool(lookup(env, EnvInsecure))
	f.BoolVar(&s.insecure, "insecure", insecure, "with rediss://: do not verify the server's certificate")
	f.Lookup("insecure").DefValue = "false"
}

// lookup returns a variable of an environment, "" if it is not there. The last one rules, as for exec.
func lookup(env []string, name string) string {
	for i := len(env) - 1; i >= 0; i-- {
		if value, ok := strings.CutPrefix(env[i], name+"="); ok {
			return value
		}
	}
	return ""
}

// Connect opens a client.
func (s *Server) Connect(opts ...rueidisson.Option) (*rueidisson.Client, error) {
	option, err := s.Option()
	if err != nil {
		return nil, err
	}
	// The tool says itself what went wrong.
	c, err := rueidisson.New(option, append(opts, rueidisson.WithLogger(slog.New(slog.DiscardHandler)))...)
	if err != nil {
		return nil, exit.Failed(err)
	}
	return c, nil
}

// Dial opens a connection of the tool's own in addition to the client's.
func (s *Server) Dial() (rueidis.Client, error) {
	option, err := s.Option()
	if err != nil {
		return nil, err
	}
	option.DisableCache = true
	client, err := rueidis.NewClient(option)
	if err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", strings.Join(option.InitAddress, ", "), connecting.WithCause(err, option))
	}
	return client, nil
}

// Option returns the options of a client. Files are read once: a pipe has its text once.
func (s *Server) Option() (rueidis.ClientOption, error) {
	parse := s.parse
	if s.parsed != nil {
		parse = s.parsed
	}
	option, err := parse()
	option.InitAddress, option.TLSConfig = slices.Clone(option.InitAddress), option.TLSConfig.Clone()
	if option.Sentinel.TLSConfig != nil {
		option.Sentinel.TLSConfig = option.TLSConfig
	}
	return option, err
}

// parse reads the URL and the files that the flags name.
func (s *Server) parse() (option rueidis.ClientOption, err error) {
	if option, err = rueidis.ParseURL(connecting.WithScheme(s.url)); err != nil {
		var parse *url.Error
		switch {
		case strings.Contains(s.url, "@"): // what cannot be parsed may be a part of the password
			err = errors.New("the URL cannot be parsed: write / # ? @ and % of the password as %2F %23 %3F %40 and %25")
		case errors.As(err, &parse):
			err = parse.Err
		}
		return option, exit.Usagef("--redis: %w", err)
	}
	if option.Password, err = s.passwordOr(option.Password); err != nil {
		return option, err
	}
	if err = s.addTLS(option.TLSConfig); err != nil {
		return option, err
	}
	if option.TLSConfig != nil && option.Sentinel.MasterSet != "" {
		option.TLSConfig.ServerName = "" // the host of the URL is that of a Sentinel
		option.Sentinel.TLSConfig = option.TLSConfig
	}
	return option, nil
}

// passwordOr returns the password of --password-file, else that of the URL, else that of the environment.
func (s *Server) passwordOr(ofURL string) (string, error) {
	switch {
	case s.Flags.Changed("password-file"):
	case ofURL != "":
		return ofURL, nil
	case s.password != "":
		return s.password, nil
	case s.passwordFile == "":
		return "", nil
	}
	return s.ofFile()
}

// readPassword reads the password from its file.
func (s *Server) readPassword() (string, error) {
	text, err := os.ReadFile(s.passwordFile)
	if err != nil {
		return "", exit.Usagef("--password-file: %w", err)
	}
	password := strings.TrimRight(string(text), "\r\n")
	if password == "" {
		return "", exit.Usagef("--password-file %s is empty", s.passwordFile)
	}
	return password, nil
}

// addTLS adds what the flags say to the configuration of a rediss:// URL, nil for others.
func (s *Server) addTLS(config *tls.Config) error {
	if config == nil {
		for _, name := range []string{"cacert", "cert", "key", "insecure"} {
			if s.Flags.Changed(name) {
				return exit.Usagef("--%s is for a server that speaks TLS: its URL begins with rediss://", name)
			}
		}
		return nil
	}
	if (s.cert == "") != (s.key == "") {
		return exit.Usagef("--cert and --key go together; the --key of limit is that of a bucket: there it is %s", EnvKey)
	}
	if s.insecure {
		config.InsecureSkipVerify = true
	}
	if s.cacert != "" {
		text, err := os.ReadFile(s.cacert)
		if err != nil {
			return exit.Usagef("--cacert: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return exit.Usagef("--cacert %s has no certificate in PEM", s.cacert)
		}
	}
	if s.cert != "" {
		own, err := tls.LoadX509KeyPair(s.cert, s.key)
		if err != nil {
			return exit.Usagef("--cert and --key: %w", err)
		}
		config.Certificates = []tls.Certificate{own}
	}
	return nil
}

// EnvOfCMD returns the environment of a CMD, without the variables that are the tool's own, and with those that let
// another rueidisson reach the server. A password is among them only if it is to be exported.
func (s *Server) EnvOfCMD(env []string, export bool, own ...string) ([]string, error) {
	own = append(own, EnvRedis, EnvPassword, EnvInsecure)
	flags := s.FileFlags()
	for _, flag := range flags {
		own = append(own, flag.env)
	}
	env = slices.DeleteFunc(slices.Clone(env), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains(own, name)
	})
	address, password := splitPassword(s.url)
	env = append(env, EnvRedis+"="+address)
	for _, flag := range flags {
		if *flag.value != "" && !isPipe(*flag.value) {
			env = append(env, flag.env+"="+*flag.value)
		}
	}
	if s.insecure {
		env = append(env, EnvInsecure+"=true")
	}
	if !export {
		return env, nil
	}
	password, err := s.passwordOr(password)
	if err != nil {
		return nil, err
	}
	if password == "" {
		return nil, exit.Usagef("--export-password: there is no password")
	}
	return append(env, EnvPassword+"="+password), nil
}

// isPipe reports whether a file cannot be read again by CMD.
func isPipe(path string) bool {
	info, err := os.Stat(path)
	return strings.HasPrefix(path, "/dev/fd/") || err == nil && !info.Mode().IsRegular()
}

// splitPassword returns a URL without its password, and the password.
func splitPassword(address string) (without, password string) {
	u, err := url.Parse(connecting.WithScheme(address))
	if err != nil || u.User == nil {
		return address, ""
	}
	password, _ = u.User.Password()
	u.User = url.User(u.User.Username())
	if u.User.Username() == "" {
		u.User = nil
	}
	return u.String(), password
}

// AddExportFlag adds the flag that gives CMD the password.
func AddExportFlag(f *pflag.FlagSet, to *bool) {
	f.BoolVar(to, "export-password", false, fmt.Sprintf("give CMD the server's password, in %s", EnvPassword))
}

// ReachEmbedded makes the server inside this process the one that is reached.
func (s *Server) ReachEmbedded(address string) {
	*s = Server{url: address, Flags: pflag.NewFlagSet("", pflag.ContinueOnError)}
}
