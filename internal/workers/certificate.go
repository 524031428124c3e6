package workers

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"time"
)

// validFor is how long a certificate of ours is valid: longer than any sweep.
const validFor = 365 * 24 * time.Hour

// ownCertificate returns the certificate of the queue in a directory, and makes one if it has none. A coordinator that
// begins anew has the same one.
func ownCertificate(dir, host string) (tls.Certificate, error) {
	path := filepath.Join(dir, certificateName)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		if err := makeCertificate(path, host); err != nil {
			return tls.Certificate{}, err
		}
	}
	return tls.LoadX509KeyPair(path, path)
}

func makeCertificate(path, host string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return err
	}
	from := time.Now().Add(-time.Hour)
	is := x509.Certificate{SerialNumber: serial, Subject: pkix.Name{CommonName: "decodesim"}, NotBefore: from,
		NotAfter: from.Add(validFor), KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, DNSNames: []string{host}}
	der, err := x509.CreateCertificate(rand.Reader, &is, &is, &key.PublicKey, key)
	if err != nil {
		return err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	text := append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})...)
	return writeWhole(path, text)
}

// ownToken returns the token of the queue in a directory, and makes one if it has none.
func ownToken(dir string) (token, path string, err error) {
	path = filepath.Join(dir, tokenName)
	token, err = readToken(dir, tokenName)
	if err != nil || token != "" {
		return token, path, err
	}
	token = rand.Text()
	return token, path, writeWhole(path, []byte(token))
}
